import type { FieldViolation } from '@sluice/contracts'
import { Problem, problems } from '@sluice/http-server'
import { translateDatabaseError } from '../../problems/map-database-errors.ts'

/** The maximum number of violations in a response. */
const maxViolations = 100

/** Collects the violations of several objects. */
export interface ViolationList {
  readonly isFull: boolean
  add(pointer: string, detail: string): void
  /**
   * Runs `callback` and adds the violations that it throws, with `basePointer` prepended to their pointers. Returns
   * whether there were none. Rethrows other errors.
   */
  collect(basePointer: string, callback: () => Promise<void>): Promise<boolean>
  throwIfAny(): void
}

/**
 * Returns a list that collects violations of several objects and throws them as one problem. `rewrite` can change each
 * violation.
 */
export function createViolationList(
  rewrite: (violation: FieldViolation) => FieldViolation = (violation) => violation,
): ViolationList {
  const violations: FieldViolation[] = []
  return {
    get isFull(): boolean {
      return violations.length >= maxViolations
    },

    add(pointer: string, detail: string): void {
      violations.push({ pointer, detail })
    },

    async collect(basePointer: string, callback: () => Promise<void>): Promise<boolean> {
      try {
        await callback()
        return true
      } catch (error) {
        const problem = toViolations(error)
        if (!problem) throw error
        violations.push(...violationsAt(basePointer, problem).map(rewrite))
        return false
      }
    },

    throwIfAny(): void {
      if (violations.length === 0) return
      throw new Problem(422, 'not-saved', 'None of the objects was saved.', {
        detail: `The request has ${violations.length === 1 ? '1 error' : `${violations.length} errors`}: correct them and send it again. The first error: ${violations[0]!.detail}`,
        errors: violations.slice(0, maxViolations),
      })
    },
  }
}

/** Returns the problem for an error that the caller can correct; undefined for any other error. */
export function toViolations(error: unknown): Problem | undefined {
  const problem = error instanceof Problem ? error : translateDatabaseError(error)
  return problem && problem.status < 500 ? problem : undefined
}

/** A violation list that throws each violation at once, with its own status, instead of collecting it. */
export const throwingViolationList: ViolationList = {
  isFull: false,

  add(pointer, detail) {
    throw problems.refused(pointer, detail)
  },

  async collect(basePointer, callback) {
    try {
      await callback()
      return true
    } catch (error) {
      const problem = toViolations(error)
      if (!problem) throw error
      const { status, code, title, message: detail, headers } = problem
      throw new Problem(status, code, title, {
        detail,
        errors: violationsAt(basePointer, problem),
        headers,
        cause: error,
      })
    }
  },

  throwIfAny() {},
}

/** Returns the violations of a problem, with `basePointer` prepended to their pointers. */
const violationsAt = (basePointer: string, { errors, message }: Problem): FieldViolation[] =>
  (errors ?? [{ pointer: '/', detail: message }]).map(({ pointer, detail }) => ({
    pointer: pointer === '/' ? basePointer : `${basePointer}${pointer}`,
    detail,
  }))
