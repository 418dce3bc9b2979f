/**
 * Returns the text with exactly one full stop at its end, unless it ends with another punctuation mark. Only some
 * servers end their messages with a full stop.
 */
export const asSentence = (text: string): string => text.trimEnd().replace(/(?<![.!?…])$|(?<=[^.])\.\.$/, '.')
