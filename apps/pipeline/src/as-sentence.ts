/** Returns the text with one full stop at its end, unless it ends with another mark. Messages of servers and of Sluice end with and without one. */
export const asSentence = (text: string): string => text.trimEnd().replace(/(?<![.!?…])$|(?<=[^.])\.\.$/, '.')
