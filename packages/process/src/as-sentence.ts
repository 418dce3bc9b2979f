/** Returns the text with exactly one full stop at its end, unless it ends with another mark. Only some messages of servers end with a full stop. */
export const asSentence = (text: string): string => text.trimEnd().replace(/(?<![.!?…])$|(?<=[^.])\.\.$/, '.')
