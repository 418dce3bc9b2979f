import type { Answer, Result } from './answers.ts'
import type { Statement, StandIn } from './stand-in.ts'

interface Relation {
  schema: string
  name: string
  columns: { name: string; type: string }[]
}

type Rows = Map<string, { whose: string; part: number; entry: string }[]>

/** Answers of a server that remembers names and the ledger, for the statements of a load: which is all that it understands. */
export function remembered() {
  let state = {
    schemas: new Set<string>(),
    relations: new Map<number, Relation>(),
    ledger: new Map<string, Rows>(),
    next: 1_000,
  }
  /** As it was before the transaction that is open. */
  let before: typeof state | undefined

  const find = (schema: string, name: string): number | undefined =>
    [...state.relations].find(([, one]) => one.schema === schema && one.name === name)?.[0]
  const texts = (columns: string[], rows: Result['rows']): Result => ({
    columns: columns.map(
      (name) => [name, /^(id|max_length|precision|scale|n|part)$/.test(name) ? 'int' : 'text'] as const,
    ) as never,
    rows,
  })

  const rules: [RegExp, (match: RegExpExecArray, values: Statement['values']) => Answer][] = [
    [
      /^select s\.name as name from sys\.schemas/,
      () =>
        texts(
          ['name'],
          [...state.schemas].map((name) => [name]),
        ),
    ],
    [/exec\(N'create schema \[(.+?)\]'\)/, ([, name]) => void state.schemas.add(name!)],
    [
      /from sys\.objects o join/,
      () =>
        texts(
          ['schema', 'name', 'id', 'type'],
          [...state.relations].map(([id, { schema, name }]) => [schema, name, id, 'U ']),
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
    [
      /^select count\(\*\) as n from \[sluice\]\.\[(\w+)\]/,
      ([, table]) => (state.ledger.has(table!) ? texts(['n'], [[0]]) : gone(table!)),
    ],
    [/^create table \[sluice\]\.\[(\w+)\]/, ([, table]) => void state.ledger.set(table!, new Map())],
    [
      /^select (?:id|run) as whose, part, entry from \[sluice\]\.\[(\w+)\]( where)?/,
      ([, table, some], [whose]) => {
        const rows = [...state.ledger.get(table!)!]
          .filter(([key]) => !some || key === whose)
          .flatMap(([, parts]) => parts)
        return texts(
          ['whose', 'part', 'entry'],
          rows.map((row) => [row.whose, row.part, row.entry]),
        )
      },
    ],
    [
      /^delete from \[sluice\]\.\[(\w+)\]/,
      ([, table], [whose]) => void state.ledger.get(table!)!.delete(String(whose)),
    ],
    [
      /^insert into \[sluice\]\.\[(\w+)\]/,
      ([, table], [whose, part, entry]) => {
        const rows = state.ledger.get(table!)!
        const row = { whose: String(whose), part: Number(part), entry: String(entry) }
        rows.set(row.whose, [...(rows.get(row.whose) ?? []), row])
        return { count: 1 }
      },
    ],
    [
      /^create table \[(.+?)\]\.\[(.+?)\] \((.*)\)$/,
      ([, schema, name, list]) => {
        const columns = [...list!.matchAll(/\[(.+?)\] ([a-z0-9]+(?:\([^)]*\))?)/g)]
        state.relations.set((state.next += 1), {
          schema: schema!,
          name: name!,
          columns: columns.map((one) => ({ name: one[1]!, type: one[2]! })),
        })
        return undefined
      },
    ],
    [
      /^drop table if exists \[(.+?)\]\.\[(.+?)\]/,
      ([, schema, name]) => void state.relations.delete(find(schema!, name!) ?? 0),
    ],
    [
      /^exec sp_rename N'\[(.+?)\]\.\[(.+?)\]', N'(.+?)'/,
      ([, schema, name, to]) => {
        if (find(schema!, to!) !== undefined)
          return { number: 15_335, message: `The new name '${to}' is already in use.` }
        state.relations.get(find(schema!, name!)!)!.name = to!
        return undefined
      },
    ],
  ]

  return {
    names: () => [...state.relations.values()].map(({ schema, name }) => `${schema}.${name}`).toSorted(),
    /** Whose connection ends within a transaction has changed nothing. */
    lost() {
      if (before) state = before
      before = undefined
    },
    answer({ text, values }: Statement): Answer {
      if (text === 'BEGIN') before = structuredClone(state)
      if (text === 'ROLLBACK' && before) state = before
      if (text === 'COMMIT' || text === 'ROLLBACK') before = undefined
      for (const [pattern, reply] of rules) {
        const match = pattern.exec(text)
        if (match) return reply(match, values)
      }
      return undefined
    },
  }
}

const gone = (table: string) => ({ number: 208, message: `Invalid object name '${table}'.` })

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
