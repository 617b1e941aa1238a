/** Languages whose words the search knows how to stem. */
export type DocumentLanguage = 'de' | 'en'

const frequent: Readonly<Record<DocumentLanguage, ReadonlySet<string>>> = {
  de: new Set(
    'der die das und ist nicht mit für von dem den des ein eine einen einer im zu zum zur auf als auch bei nach wir sie ihnen ihre ihr unser unsere haben wird werden sind bitte oder aus über bis rechnung betrag datum'.split(
      ' ',
    ),
  ),
  en: new Set(
    'the and of to in is for with on that this you your are be have has will our we not by from or at as it please an was which invoice amount date'.split(
      ' ',
    ),
  ),
}
const looksAt = 20_000

/** The language of a text by its most frequent words; null: too few of them, or none that is ahead. */
export function detectLanguage(text: string): DocumentLanguage | null {
  const words =
    text
      .slice(0, looksAt)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? []
  const hits = { de: 0, en: 0 }
  for (const word of words)
    for (const language of ['de', 'en'] as const) if (frequent[language].has(word)) hits[language] += 1
  const [ahead, behind] = hits.de >= hits.en ? (['de', 'en'] as const) : (['en', 'de'] as const)
  return hits[ahead] >= 3 && hits[ahead] >= 2 * hits[behind] ? ahead : null
}
