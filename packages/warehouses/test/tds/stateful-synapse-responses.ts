import type { Answer } from './responses.ts'
import { remembered } from './stateful-responses.ts'
import { gone, type Rule, said, texts } from './response-rules.ts'
import type { Statement } from './tds-server-stand-in.ts'
import { synapseRefusal } from './synapse-refusals.ts'

const readUncommitted = 1

/**
 * Answers of a dedicated SQL pool to the statements of a load. Changes of tables and views are not transactional;
 * rows of the ledger are. A session that has changed the lock row blocks the others until its transaction ends.
 */
export function rememberedSynapse(home: string) {
  const memory = remembered(home)
  const refused: string[] = []
  /** Of each schema that was given away. */
  const owners = new Map<string, string>()
  const exposed: string[] = []
  let holder: object | undefined
  let waiting: { session: object; go(answer: Answer): void }[] = []

  function release(session: object): void {
    waiting = waiting.filter((one) => one.session !== session)
    if (holder !== session) return
    const next = waiting.shift()
    holder = next?.session
    next?.go({ count: 1 })
  }

  const rules: Rule[] = [
    [/is_read_committed_snapshot_on/, () => texts(['n'], [[1]])],
    [/^select 1 as held/, () => texts(['n'], [[1]])],
    [
      new RegExp(`^update \\[${home}\\]\\.\\[turn\\]`),
      (_, _values, session) => {
        if (holder === undefined) holder = session
        if (holder === session) return { count: 1 }
        return new Promise<Answer>((go) => waiting.push({ session, go }))
      },
    ],
    [
      /^if object_id\(N'.+?', N'[UV]'\) is not null drop (?:table|view) \[(.+?)\]\.\[(.+?)\]$/,
      ([, schema, name]) => memory.drop(schema!, name!),
    ],
    [/^rename object \[(.+?)\]\.\[(.+?)\] to \[(.+?)\]$/, ([, schema, name, to]) => memory.rename(schema!, name!, to!)],
    [
      /^(create|alter) view \[(.+?)\]\.\[(.+?)\] as\n([\s\S]+)$/,
      ([, verb, schema, name, query]) => {
        const missing = missingOf(query!)
        if (missing !== undefined) return gone(missing)
        if (!owners.has(schema!)) exposed.push(`${schema}.${name}`)
        if (verb === 'create') return memory.make(schema!, name!, 'V', [])
        return memory.find(schema!, name!) === undefined ? gone(name!) : undefined
      },
    ],
    [
      /^if exists \(.+\) exec\(N'alter authorization on schema::\[(.+?)\] to \[(.+?)\];/,
      ([, schema, owner]) => void owners.set(schema!, owner!),
    ],
    ...memory.rules,
    [/^select count\(\*\) as n from \[/, () => texts(['n'], [[1]])],
  ]

  function missingOf(query: string): string | undefined {
    const named = [...query.matchAll(/\[([^\]]+)\]\.\[([^\]]+)\]/g)]
    return named.find(([, schema, name]) => schema !== home && memory.find(schema!, name!) === undefined)?.[2]
  }

  return {
    names: memory.names,
    ledger: memory.ledger,
    find: memory.find,
    /** How many wait for their turn. */
    waiting: () => waiting.length,
    /** Statements that a pool would not have taken. */
    refused,
    /** Views that belonged to the service when they were created, so that their readers have its rights. */
    exposed,
    /** As an earlier version, or an operator, leaves a schema. */
    takeBack: (schema: string) => void owners.delete(schema),
    lost(session: object) {
      memory.ledger.end(session, 'ROLLBACK')
      release(session)
    },
    stopped: (session: object) => void (waiting = waiting.filter((one) => one.session !== session)),
    answer(statement: Statement, session: object): Answer | Promise<Answer> {
      const { text, values } = statement
      if (text === 'BEGIN') {
        if (values[0] !== readUncommitted) return { number: 103_010, message: 'Parse error: READ UNCOMMITTED alone.' }
        memory.ledger.begin(session)
        return undefined
      }
      if (text === 'COMMIT' || text === 'ROLLBACK') {
        memory.ledger.end(session, text)
        release(session)
        return undefined
      }
      const refusal = synapseRefusal(text, memory.ledger.isOpen(session))
      if (refusal) refused.push(text)
      return refusal ?? said(rules, statement, session)
    },
  }
}
