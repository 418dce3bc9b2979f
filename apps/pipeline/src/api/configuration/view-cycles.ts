import type { ConfiguredObject } from '@sluice/contracts'
import { resolveNames } from '@sluice/warehouses/sql-text/sql-names'
import { tokensOf } from '@sluice/warehouses/sql-text/sql-tokens'
import { type TablePlace, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { createViolationList } from '../bulk-saves/violation-list.ts'

interface ViewNode {
  id: number
  name: string
  schema: string
  view: string
  query: string | null
  sources: TablePlace[]
}

/**
 * Throws 422 if saved views read each other in a cycle, because the warehouse could create none of them. The queries of these views
 * are searched for the names of views; for other views, the warehouse has said what they read.
 */
export async function assertNoViewCycles(
  trx: Transaction<DB>,
  client: string,
  objects: readonly ConfiguredObject[],
): Promise<void> {
  const nodes = await readViews(
    trx,
    client,
    objects.map(({ name }) => name),
  )
  const places = nodes.map(({ schema, view }) => ({ schema, name: view }))
  const byPlace = new Map(nodes.map((node) => [`${node.schema}.${node.view}`, node]))
  const reads = new Map(
    nodes.map((node) => [
      node,
      findReadViews(node, places).flatMap(({ schema, name }) => byPlace.get(`${schema}.${name}`) ?? []),
    ]),
  )
  const violations = createViolationList()
  const indexes = new Map(objects.map(({ name }, index) => [name, index]))
  const reported = new Set<ViewNode>()
  for (const node of nodes) {
    const index = indexes.get(node.name)
    if (index === undefined || reported.has(node)) continue
    const cycle = findCycle(node, reads)
    if (!cycle) continue
    for (const member of cycle) reported.add(member)
    violations.add(`/views/${index}/query`, describeCycle(cycle.map(({ name }) => name)))
  }
  violations.throwIfAny()
}

async function readViews(trx: Transaction<DB>, client: string, names: readonly string[]): Promise<ViewNode[]> {
  const { rows } = await sql<ViewNode>`
    select v.id, v.name, s.schema_name as schema, v.view_name as view,
      case when v.name = any(${names}) then v.query end as query,
      coalesce((
        select json_agg(json_build_object('schema', r.schema_name, 'name', r.relation_name))
        from view_sources r where r.view_id = v.id), '[]') as sources
    from views v join schemas s on s.id = v.schema_id where v.client = ${client} order by v.id`.execute(trx)
  return rows
}

/** Calls and operators in which FROM precedes a value and not a table. */
const fromWithoutTable = /\b(extract|trim|substring|overlay)\s*\([^()]*\)|\bdistinct\s+from\b/g

/** Comparisons of the names in a query with the views of a client. A search that needs more is left out. */
const maxComparisons = 2_000_000

/** Returns the views that a view reads. Returns none for a query that is too long to search or cannot be parsed: its run reports errors. */
function findReadViews({ query, schema, sources }: ViewNode, views: readonly TablePlace[]): TablePlace[] {
  if (query === null) return sources
  // Names in the warehouse have no capital letters.
  const text = query.toLowerCase().replaceAll(fromWithoutTable, ' ')
  const words = tokensOf(text).map((token) => token.text)
  const named = new Set(words)
  const relations = views.filter(({ name }) => named.has(name))
  if (words.length * relations.length > maxComparisons) return []
  try {
    return resolveNames(text, { schemas: [schema], relations, address: ({ name }) => name }).reads
  } catch (error) {
    if (error instanceof WarehouseProblem) return []
    throw error
  }
}

/** Returns the views of a cycle through this view, which is the first; undefined without a cycle. */
function findCycle(start: ViewNode, reads: ReadonlyMap<ViewNode, ViewNode[]>): ViewNode[] | undefined {
  const seen = new Set<ViewNode>()
  const path: { node: ViewNode; next: number }[] = [{ node: start, next: 0 }]
  while (path.length > 0) {
    const top = path.at(-1)!
    const read = reads.get(top.node)![top.next++]
    if (read === undefined) path.pop()
    else if (read === start) return path.map(({ node }) => node)
    else if (!seen.has(read)) {
      seen.add(read)
      path.push({ node: read, next: 0 })
    }
  }
  return undefined
}

/** Views that the message about a cycle names. */
const maxNamedViews = 5

function describeCycle(names: readonly string[]): string {
  if (names.length === 1) return `The view "${names[0]}" reads itself. Remove this reference from its query.`
  const shown = names.slice(0, maxNamedViews).map((name) => `"${name}"`)
  const more = names.length > maxNamedViews ? ` and ${names.length - maxNamedViews} more` : ''
  return `The views ${shown.join(', ')}${more} read each other in a cycle, so none can be created first. Remove one of the references.`
}
