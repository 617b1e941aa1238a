import type { z } from 'zod';
/** What a reader made of a text: a value, or all that is wrong with it. */
export type Read<Value> = {
    readonly value: Value;
} | {
    readonly problems: readonly string[];
};
/** Turns the text of a setting into its value. */
export interface Reader<Value> {
    /** What a good value is, to follow "must be". */
    readonly expects: string;
    /** Problems are the rest of a sentence that begins with the setting's name. */
    readonly read: (text: string) => Read<Value>;
}
/** A value in one piece; `parse` answers undefined for what is not one. Secret values are never shown. */
export declare function reader<Value>(expects: string, parse: (text: string) => Value | undefined, shown?: 'shown' | 'secret'): Reader<Value>;
/** Decimal digits and nothing else. */
export declare const whole: (min: number, max: number, unit?: string) => Reader<number>;
/** A duration that a timer can wait. */
export declare const milliseconds: Reader<number>;
/** One of a closed set of words. */
export declare const oneOf: <const Name extends string>(...names: readonly Name[]) => Reader<Name>;
/** A switch. */
export declare const onOff: Reader<boolean>;
/** Text of a form that `accepts` knows; by default any without blanks at its ends. */
export declare const text: (expects: string, accepts?: (value: string) => boolean) => Reader<string>;
/** Any text; it is never shown. */
export declare const secret: (expects: string) => Reader<string>;
/** A URL of one of these schemes, with an authority of the form that `accepts` knows. It may carry a password, so it is never shown. */
export declare const url: (expects: string, schemes: readonly string[], accepts?: (parsed: URL) => boolean) => Reader<string>;
/** Items between commas, blanks around them do not count. */
export declare const list: (expects: string, accepts: (item: string) => boolean) => Reader<readonly string[]>;
/** 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 */
export declare const addressRange: (item: string) => boolean;
/** https://app.example.org, as browsers write it: no path, no standard port. */
export declare const isOrigin: (item: string) => boolean;
/** a@b, or A name <a@b> */
export declare const mailbox: RegExp;
/** JSON of a shape; every complaint names its place in the text or in the value. */
export declare function json<Value>(expects: string, schema: z.ZodType<Value>): Reader<Value>;
