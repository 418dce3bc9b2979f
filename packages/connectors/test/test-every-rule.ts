import { it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { type Rule, rules, type UnsupportedRules } from './conformance-rules.ts'

/** Adds a test for each rule. A rule that does not apply is skipped, with the reason in its title. */
export function testEveryRule<Never extends Rule>(
  unsupportedRules: UnsupportedRules & Record<Never, string>,
  tests: Record<Exclude<Rule, Never>, () => Promise<void>>,
  { missing }: { missing?: string | undefined } = {},
): void {
  const written: Partial<Record<Rule, () => Promise<void>>> = tests
  for (const [row, sentence] of Object.entries(rules) as [Rule, string][]) {
    const reason = missing ?? unsupportedRules[row] ?? (row === 'large' ? longRunOnly : undefined)
    const test = written[row]
    if (reason !== undefined || !test) it.skip(`${sentence} (${reason})`, () => {})
    else it(sentence, test)
  }
}
