import type { Pushed } from './push.ts'
import type { ImportOptions } from './target.ts'

const number = (amount: number) => amount.toLocaleString('en')
const count = (amount: number, noun: string) => `${number(amount)} ${amount === 1 ? noun : `${noun}s`}`

/** What a push that came to its end says of itself. */
export function whatWasPushed(place: string, pushed: Pushed, { dryRun }: ImportOptions): string {
  const { rows, sent, empty, rejected, firstRejected, imported, updated, ignored, deleted, warning } = pushed
  if (rows === 0) return `${place} has no rows: nothing was sent.`
  const without = empty > 0 ? ` ${count(empty, 'row')} without a value ${empty === 1 ? 'was' : 'were'} skipped.` : ''
  const refused =
    rejected > 0
      ? ` ${count(rejected, 'row')} ${rejected === 1 ? 'was' : 'were'} refused, the first for this reason: ${firstRejected ?? 'none is given'}${/[.!?]$/.test(firstRejected ?? '') ? '' : '.'} The run’s rejected rows name them all.`
      : ''
  const warns = warning === undefined ? '' : ` DHIS2 warns: ${warning}`
  if (sent === 0) return `Nothing of ${place} was sent.${without}${refused}`
  const tense = dryRun ? 'A dry run, so nothing is stored. DHIS2 would have' : 'DHIS2 has'
  const did = `${number(imported)} imported, ${number(updated)} updated, ${number(deleted)} deleted and ${number(ignored)} ignored`
  return `Sent ${count(sent, 'value')} of ${place}. ${tense} ${did}.${without}${refused}${warns}`
}
