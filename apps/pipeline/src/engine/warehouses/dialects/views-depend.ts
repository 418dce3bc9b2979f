import { WarehouseProblem } from '../warehouse.ts'
import type { Dialect } from './dialect.ts'
import { problemOf } from './problems.ts'

/** Why something cannot change below its views, from what the server says of them over it. What may pass by itself is left as it is. */
export function viewsDepend(
  dialect: Dialect,
  error: unknown,
  place: string,
  sentence: (reason: string) => string,
): unknown {
  const problem = problemOf(dialect, error, place)
  if (!(problem instanceof WarehouseProblem) || problem.retryable) return problem
  return new WarehouseProblem('VIEWS_DEPEND', sentence(problem.message), { cause: error })
}
