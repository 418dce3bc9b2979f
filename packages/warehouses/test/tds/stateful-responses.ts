import type { Answer } from './responses.ts'
import { ledgerRows } from './ledger-rows.ts'
import { gone, type Rule, said, texts } from './response-rules.ts'
import type { Statement, StandIn } from './tds-server-stand-in.ts'

interface Relation {
  schema: string
  name: string
  kind: 'U' | 'V'
  columns: { name: string; type: string }[]
}

/**
 * Responses of a server that stores names and the ledger, for the statements of a load. It understands no other
 * statements. `home` is the schema of the ledger.
 */
export function remembered(home = 'sluice') {
  let state = { schemas: new Set<string>(), relations: new Map<number, Relation>(), next: 1_000 }
  const ledger = ledgerRows()
  /** As it was before the transaction that is open. */
  let before: { of: object; state: typeof state } | undefined

  const find = (schema: string, name: string): number | undefined =>
    [...state.relations].find(([, one]) => one.schema === schema && one.name === name)?.[0]
  const make = (schema: string, name: string, kind: 'U' | 'V', columns: Relation['columns']): Answer => {
    if (find(schema, name) !== undefined)
      return { number: 2714, message: `There is already an object named '${name}' in the database.` }
    state.relations.set((state.next += 1), { schema, name, kind, columns })
    return undefined
  }
  const drop = (schema: string, name: string) => void state.relations.delete(find(schema, name) ?? 0)
  const rename = (schema: string, name: string, to: string): Answer => {
    const id = find(schema, name)
    if (id === undefined) return gone(name)
    if (find(schema, to) !== undefined) return { number: 15_335, message: `The new name '${to}' is already in use.` }
    state.relations.get(id)!.name = to
    return undefined
  }

  const rules: Rule[] = [
    [
      /^select s\.name as name from sys\.schemas/,
      () =>
        texts(
          ['name'],
          [...state.schemas].filter((name) => name !== home).map((name) => [name]),
        ),
    ],
    [/exec\(N'create schema \[(.+?)\]'\)/, ([, name]) => void state.schemas.add(name!)],
    [
      /from sys\.objects o join/,
      () =>
        texts(
          ['schema', 'name', 'id', 'type'],
          [...state.relations].map(([id, { schema, name, kind }]) => [schema, name, id, `${kind} `]),
        ),
    ],
    [
      /from sys\.columns c/,
      (_, [id]) =>
        texts(
          ['name', 'type', 'max_length', 'precision', 'scale', 'nullable'],
          (state.relations.get(Number(id))?.columns ?? []).map(({ name, type }) => [
            name,
            type.replace(/\(.*/, ''),
            type.includes('(max)') ? -1 : 4,
            10,
            0,
            'true',
          ]),
        ),
    ],
    ...ledger.rules(home),
    [
      /^create table \[(.+?)\]\.\[(.+?)\] \((.*)\)$/,
      ([, schema, name, list]) => {
        const columns = [...list!.matchAll(/\[(.+?)\] ([a-z0-9]+(?:\([^)]*\))?)/g)]
        const made = columns.map((one) => ({ name: one[1]!, type: one[2]! }))
        return make(schema!, name!, 'U', made)
      },
    ],
    [/^drop table if exists \[(.+?)\]\.\[(.+?)\]/, ([, schema, name]) => drop(schema!, name!)],
    [/^exec sp_rename N'\[(.+?)\]\.\[(.+?)\]', N'(.+?)'/, ([, schema, name, to]) => rename(schema!, name!, to!)],
  ]

  return {
    rules,
    ledger,
    find,
    make,
    drop,
    rename,
    names: () => [...state.relations.values()].map(({ schema, name }) => `${schema}.${name}`).toSorted(),
    /** Whose connection ends within a transaction has changed nothing. */
    lost(session: object) {
      if (before?.of === session) {
        state = before.state
        before = undefined
      }
      ledger.end(session, 'ROLLBACK')
    },
    answer({ text, values }: Statement, session: object): Answer | Promise<Answer> {
      if (text === 'BEGIN') {
        before = { of: session, state: structuredClone(state) }
        ledger.begin(session)
      }
      if (text === 'ROLLBACK' && before) state = before.state
      if (text === 'COMMIT' || text === 'ROLLBACK') {
        before = undefined
        ledger.end(session, text)
      }
      return said(rules, { text, values }, session)
    },
  }
}

/** What was said between BEGIN and the end, by its first words. */
export function transactions({ statements }: StandIn): string[][] {
  const found: string[][] = []
  let open: string[] | undefined
  for (const { text } of statements) {
    if (text === 'BEGIN') found.push((open = []))
    open?.push(text.startsWith('exec sp_rename') ? text : text.split(/\s+/, 2).join(' '))
    if (text === 'COMMIT' || text === 'ROLLBACK') open = undefined
  }
  return found
}
