/** What a cell's number means by its format. */
export type NumberMeaning = 'NUMBER' | 'DATE' | 'TIMESTAMP' | 'TIME' | 'ELAPSED'

/** The formats that every workbook has without saying so; those of East Asia among them. */
export function builtInMeaning(id: number): NumberMeaning {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 34 && id <= 36) || (id >= 50 && id <= 58))
    return 'DATE'
  if ((id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47) return 'TIME'
  if (id === 22) return 'TIMESTAMP'
  return id === 46 ? 'ELAPSED' : 'NUMBER'
}

/**
 * What a format's own code makes of a number, such as `yyyy-mm-dd hh:mm` or `[Red]0.00`. What stands in quotes, behind a backslash or
 * in brackets is no letter of it; hours, minutes or seconds alone in brackets are a time that goes on beyond a day.
 */
export function meaningOf(code: string): NumberMeaning {
  const bare = code.replace(/"[^"]*"|\\.|_.|\*./g, '')
  const [first = ''] = bare.split(';')
  if (/\[(h+|m+|s+)\]/i.test(first)) return 'ELAPSED'
  const letters = first.replace(/\[[^\]]*\]/g, '')
  if (/general/i.test(letters)) return 'NUMBER'
  const clock = /AM\/PM|A\/P/i.test(letters)
  const rest = letters.replace(/AM\/PM|A\/P/gi, '')
  const hasTime = clock || /[hs]/i.test(rest)
  const hasDay = /[yd]/i.test(rest) || (/m/i.test(rest) && !hasTime)
  if (hasDay) return hasTime ? 'TIMESTAMP' : 'DATE'
  return hasTime ? 'TIME' : 'NUMBER'
}
