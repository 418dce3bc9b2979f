import { sqlPieces } from '../variables/sql-pieces.ts'

/** Whether the columns of a query may be those of its tables: it has `select *`, `t.*` or `table t`. */
export function selectsAll(query: string): boolean {
  const code = [...sqlPieces(query)]
    .map(({ kind, text }) => (kind === 'comment' ? ' ' : kind === 'literal' ? 'x' : text))
    .join('')
  return /\bselect\s+((all|distinct)\s+)?\*|[.,]\s*\*|\btable\s+[\w".]/i.test(code)
}
