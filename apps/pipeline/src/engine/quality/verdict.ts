import { storable } from '../runs/storable.ts'
import type { CheckOutcome, CheckStatus } from './run-checks.ts'

/** What all checks of a group come to. OK only if all of them are OK. The message is for whoever sees the run. */
export interface Verdict {
  status: CheckStatus
  message: string
}

/** How many checks a sentence names. */
const named = 5

export function verdictOn(outcomes: readonly CheckOutcome[]): Verdict {
  if (outcomes.length === 0) return { status: 'OK', message: 'The group has no checks: nothing was looked at.' }
  const bad = outcomes.filter(({ status }) => status !== 'OK')
  if (bad.length === 0)
    return {
      status: 'OK',
      message: outcomes.length === 1 ? 'The check is OK.' : `All ${outcomes.length} checks are OK.`,
    }
  const status = bad.some((outcome) => outcome.status === 'ERROR') ? 'ERROR' : 'FAILED'
  const said = bad.slice(0, named).map(({ check, toAll }) => `“${check.name}”: ${toAll}`)
  const more = bad.length > named ? ` And ${bad.length - named} more; the results of the run name them.` : ''
  const count = `${bad.length} of ${outcomes.length} ${outcomes.length === 1 ? 'check' : 'checks'}`
  const message = `${count} ${bad.length === 1 ? 'is' : 'are'} not OK. ${said.join(' ')}${more}`
  return { status, message: storable(message, 4_500) }
}
