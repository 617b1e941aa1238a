import { createSign } from 'node:crypto'

/** A certificate of nobody, and its key: what SNS would sign with. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIDFTCCAf2gAwIBAgIUeOjPN8EZRIonzy/c9N2XToHFws0wDQYJKoZIhvcNAQEL
BQAwGTEXMBUGA1UEAwwOc25zLmxvY2FsLnRlc3QwIBcNMjYxMTMwMDAwNzIxWhgP
MjEyNjExMDYwMDA3MjFaMBkxFzAVBgNVBAMMDnNucy5sb2NhbC50ZXN0MIIBIjAN
BgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAqK8UmAtrMYY0iwGOTNNtNpJIiAuO
3B+DP0wpzfI7oSV5JbHQHKPUZ67RHdzeE59c1vPTy+q0jDLXtWv4LwIkMZuV9jZK
BOrExi10Vc7Nejm38anQaFmtB8IJT6SBPASsIHv0SEWtniT8OPx8ll/DskvY7Rf1
/aXKdCM+VFyP18tf+gU1HRPhMb6jmIee4hVTnt0e50hCwf78TyySvYbmu1GwruWX
DpJ9i9RgKmA/Yxc6z3xfYEP98NvwQ3avD8oQSQrnv7veb21lMNAj0I85pAUoPK7y
bjQwoKoFRfEZoHIqdU/Kceeje5eQvN6aqfc9+TvbL2Icti/7Pk/fcoHmMwIDAQAB
o1MwUTAdBgNVHQ4EFgQUM8QiZtPQRr55kRnl5DykHsjQ7BQwHwYDVR0jBBgwFoAU
M8QiZtPQRr55kRnl5DykHsjQ7BQwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0B
AQsFAAOCAQEAM9tE7KyetuUTAs8NV/Xe/jjK58xkUC7Xqa608THq+RxWVgTngnJ6
ZgrHP6sW74pYC+hZwZjYMtEADf/92PFHxF/6iXUeFDg9wHnpquJUlQ0l31CkNCp0
WfXKCsSsk9z+uHfdKF/tkkgTtGdj4W6V2I8Ib5KQFr/Pnj6uMHixpl9o746a6xfY
W/Zdl8r2ABBLkYT+GyIvI+mcENrETkmqzjy+/Kc6R3J3vqBIZDiGsNsKcKspRsQr
D5l6eqEkcz9l8eDqOXM4n6o9QuGTHt7bylFyLz71UoXdwDEdAbcxBiwMflajMhSt
BBQ1hlUGuCDrIHBeajvKYXXnZSF/CJBL3Q==
-----END CERTIFICATE-----
`

const key = `-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCorxSYC2sxhjSL
AY5M0202kkiIC47cH4M/TCnN8juhJXklsdAco9RnrtEd3N4Tn1zW89PL6rSMMte1
a/gvAiQxm5X2NkoE6sTGLXRVzs16ObfxqdBoWa0HwglPpIE8BKwge/RIRa2eJPw4
/HyWX8OyS9jtF/X9pcp0Iz5UXI/Xy1/6BTUdE+ExvqOYh57iFVOe3R7nSELB/vxP
LJK9hua7UbCu5ZcOkn2L1GAqYD9jFzrPfF9gQ/3w2/BDdq8PyhBJCue/u95vbWUw
0CPQjzmkBSg8rvJuNDCgqgVF8Rmgcip1T8px56N7l5C83pqp9z35O9svYhy2L/s+
T99ygeYzAgMBAAECggEADErDcoSOf9h6qeobAp0uxBj31E+0Gtu1adG06cJUakNI
gNP9/HN+mtZoSOFOuFmKErEU7Rl1Pt9ezORWL9koZj1v7M+uKCdfEt2LSmXca+/N
zpXxAmtA5FciH5DqYlz2ABRlGJxY12fbKC0gYdx1O1//w3mi0T3mGWPbrgEXi4JM
MmlAvyBVT88yq2qyXykD3WSCgCqrKTMZyry41ko3e+BG3HriivKFkg2bvAXCDgZB
EFnRrJWMS/jtyr+YDGYogZA1yFq7Jm3A9OmB1TLZK4/YI8YRMDHCIhi4gQoYgUrT
v6Bon4fkCr1wJVRAxoI3jZgDsS7hqnO6ucWOtYdT9QKBgQDuNXsWmynq2yBkJ7ZJ
c2QB5JO4EzDPeTTTTQu2cqVPLXBqYKXhv+3AwFEKkuGHnQwWlqw8/bM9NZbA1ERh
vXrTQJpTNql1hiBV2F47aKCJ973MA3pE+OPhTqrJpdGBKyb4A/EUPNaYwljlApJl
AKum7BNjauU8ODbJuN0koOW4nwKBgQC1SEq3wPRB94n5w7a9tOIkHXIx+bqnW48K
Phb/pkebyLU4ZGa1tR8cV2KKJkhBty2vW6gxLgP7iOhCEY4gh6E4nsHZDK0UoXyQ
sgqzRc8B7GkgMiloEwsGN3RVFaFcA5+MFqbS0GKtjpZWMqPsOZP++Aog2l2D+rIc
A9f2mXkl7QKBgDd6DxuZsW538BhDQ2nhzNXABUMmfQSkxs+7LtIj6yoAfCDaN2fX
CikM4RLkWE/8HFeaaayerULBG0X3aaGVvmg6sHZW0aqEPT2g8XlGibT4FKTR3oT3
riLH7nCeBKffg+jZCilbbeMPyCI1siCBwnhSnMVXnOGkeeYK/r3MFxQjAoGATaRR
xBPTSbGgmaW2Tdf8ByXJdBgWVnmDcQqYxRPNla5H14hA6VBSq8vNe4fb6LFw0qs6
BR5FPGUtvKZSLiKI7XwpYDHqq2xisoJezNt4RsWfXNe/HkERtq7nl011V7iBi/lj
p+Tybo0kXHTB+nnKpihMBjggV1d3E0KeK5Md7R0CgYEA35Gfmsen16/4h0hRkzDp
57ttkXTNoiBbOPVyBQl0lnHB1iJ0Vu3/6Q/KEneaVqIociCYcFMhDFNPB4phhOv5
1OdUCNRLOy/hRMkLskH+26x8q0JYzctaxdu7gD7TdFhKquQEf/wEy+uJHjBLr/b1
GmwaFT5TGQqW/4vuwuYdS8c=
-----END PRIVATE KEY-----
`

/** A message of SNS, signed as SNS does it. */
export function signedSns(fields: Readonly<Record<string, string>>, version: '1' | '2' = '2'): Record<string, string> {
  const sns: Record<string, string> = {
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: 'arn:aws:sns:eu-west-1:123456789012:bounces',
    Timestamp: '2026-11-30T00:00:00.000Z',
    SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-x.pem',
    ...fields,
  }
  const signed = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  const text = signed.flatMap((field) => (sns[field] === undefined ? [] : [`${field}\n${sns[field]}\n`])).join('')
  const Signature = createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(text)
    .sign(key, 'base64')
  return { ...sns, SignatureVersion: version, Signature }
}
