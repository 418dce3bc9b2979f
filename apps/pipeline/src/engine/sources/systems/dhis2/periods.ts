/** A span of whole days, both of them counting, as `YYYY-MM-DD`. */
export interface Span {
  type: string
  start: string
  end: string
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10)
const dayLength = 86_400_000

/** So many months from the first day of a month (from 0) on. */
const months = (type: string, year: number, month: number, count: number): Span => ({
  type,
  start: day(Date.UTC(year, month, 1)),
  end: day(Date.UTC(year, month + count, 1) - dayLength),
})

/** Days of the week that weeks begin with, from Monday. */
const weekdays: Record<string, number> = { '': 0, Mon: 0, Wed: 2, Thu: 3, Sat: 5, Sun: 6 }

/** The first week is the one that has the fourth of January. */
function weeks(type: string, year: number, week: number, from: number, count: number): Span {
  const fourth = new Date(Date.UTC(year, 0, 4))
  const since = (fourth.getUTCDay() + 6 - from + 7) % 7
  const start = fourth.getTime() - since * dayLength + (week - 1) * 7 * dayLength
  return { type, start: day(start), end: day(start + (count * 7 - 1) * dayLength) }
}

const firstMonths: Record<string, number> = { April: 3, July: 6, Sep: 8, Oct: 9, Nov: 10 }

type Rule = [RegExp, (parts: string[]) => Span]

const rules: Rule[] = [
  [
    /^(\d{4})(\d\d)(\d\d)$/,
    ([year, month, date]) => {
      const start = day(Date.UTC(Number(year), Number(month) - 1, Number(date)))
      return { type: 'Daily', start, end: start }
    },
  ],
  [
    /^(\d{4})(Mon|Wed|Thu|Sat|Sun)?W(\d{1,2})$/,
    ([year, from = '', week]) => weeks('Weekly', Number(year), Number(week), weekdays[from]!, 1),
  ],
  [/^(\d{4})BiW(\d{1,2})$/, ([year, week]) => weeks('BiWeekly', Number(year), Number(week) * 2 - 1, 0, 2)],
  [/^(\d{4})(\d\d)$/, ([year, month]) => months('Monthly', Number(year), Number(month) - 1, 1)],
  [/^(\d{4})(\d\d)B$/, ([year, pair]) => months('BiMonthly', Number(year), Number(pair) * 2 - 2, 2)],
  [/^(\d{4})Q([1-4])$/, ([year, quarter]) => months('Quarterly', Number(year), Number(quarter) * 3 - 3, 3)],
  [/^(\d{4})S([12])$/, ([year, half]) => months('SixMonthly', Number(year), Number(half) * 6 - 6, 6)],
  // The year is the one in which the first half begins in April; of November it is the one that follows.
  [/^(\d{4})AprilS([12])$/, ([year, half]) => months('SixMonthlyApril', Number(year), Number(half) * 6 - 3, 6)],
  [/^(\d{4})NovS([12])$/, ([year, half]) => months('SixMonthlyNov', Number(year) - 1, Number(half) * 6 + 4, 6)],
  [/^(\d{4})$/, ([year]) => months('Yearly', Number(year), 0, 12)],
  [
    /^(\d{4})(April|July|Sep|Oct|Nov)$/,
    ([year, from]) => months(`Financial${from}`, Number(year), firstMonths[from!]!, 12),
  ],
]

/** What a period's id means in the calendar that everybody has; undefined for what is none. */
export function spanOf(period: string): Span | undefined {
  for (const [pattern, span] of rules) {
    const found = pattern.exec(period)
    if (found) return span(found.slice(1))
  }
  return undefined
}
