import { sql, type Transaction } from 'kysely'
import type { JobType, FieldViolation, WorkflowBody } from '@sluice/contracts'
import { Problem, problems, type Caller } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'
import { findVisibleObjects, getJobKind, jobKinds } from './job-types.ts'
import type { StoredJob } from './read-workflow-steps.ts'

/** A job in a request body, with its JSON pointer. */
interface NamedJob {
  pointer: string
  /** Undefined if the job's object determines the type. */
  jobType: JobType | undefined
  /** The uid or primary key of the object that the job runs; undefined if the body omits it. */
  object: string | number | undefined
  /** The uid of the existing job that this one replaces. */
  uid: string | undefined
}

export interface ResolvedJob {
  uid: string | undefined
  runnableId: number
}

/**
 * Returns the jobs of a request body by step. If `object` is missing and `id` is that of a stored job, the job runs the
 * same object as before. Otherwise `id` is that of the object to run.
 */
function parseJobs({ steps }: WorkflowBody, current: readonly StoredJob[]): NamedJob[][] {
  const keepableJobs = new Map(current.map((job) => [job.uid, job]))
  return (steps.steps ?? []).map(({ jobs = [] }, stepIndex) =>
    jobs.map(({ jobType, object, id }, jobIndex) => {
      const keptJob = id === undefined ? undefined : keepableJobs.get(id.toLowerCase())
      // Only the first job with this id keeps the stored job.
      if (keptJob) keepableJobs.delete(keptJob.uid)
      const sentObject = object?.uid?.toLowerCase() ?? object?.id
      const objectById = keptJob ? keptJob.object.uid : findUid(id)
      return {
        pointer: `/steps/steps/${stepIndex}/jobs/${jobIndex}`,
        jobType,
        object: sentObject ?? objectById,
        uid: keptJob?.uid,
      }
    }),
  )
}

/**
 * Returns the job's id if it is a UUID, because it may identify the object to run. Ignores other ids, which some
 * callers invent.
 */
const findUid = (id: string | undefined): string | undefined =>
  id && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id.toLowerCase() : undefined

/**
 * Finds the objects that the jobs of a body run. A workflow runs them without checking rights again, so the caller must
 * be allowed to run each new object; objects that are already in the workflow may stay. Throws 422 that lists all
 * objects that are missing, of another kind or not allowed.
 */
export async function resolveJobs(
  trx: Transaction<DB>,
  body: WorkflowBody,
  current: readonly StoredJob[],
  caller: Caller,
): Promise<ResolvedJob[][]> {
  const namedSteps = parseJobs(body, current)
  const keys = [...new Set(namedSteps.flat().flatMap(({ object }) => object ?? []))]
  const uids = keys.filter((key) => typeof key === 'string')
  const ids = keys.filter((key) => Number.isSafeInteger(key))
  // Lock the objects, so that they cannot be deleted before the rows of the jobs are written.
  const { rows } = await sql<{ id: number; uid: string; kind: RunnableKind; name: string }>`
    select id, uid, kind, name from runnables where (uid = any(${uids}::uuid[]) or id = any(${ids}::bigint[])) and client = ${caller.client}
    order by id for key share`.execute(trx)
  const objects = new Map<string | number, (typeof rows)[number]>(
    rows.flatMap((row) => [[row.uid, row] as const, [row.id, row] as const]),
  )
  const visibleById = await findVisibleObjects(trx, caller, rows)
  const currentObjects = new Set(current.map(({ object }) => object.id))

  const violations: FieldViolation[] = []
  const resolved = namedSteps.map((step, index) => {
    const isParallel = body.steps.steps?.[index]?.executionMode === 'PARALLEL'
    const idsInStep = new Set<number>()
    return step.flatMap((job): ResolvedJob[] => {
      const object = job.object === undefined ? undefined : objects.get(job.object)
      const violation = findViolation(job, object)
      if (violation) {
        violations.push(violation)
        return []
      }
      const { id, name } = object!
      if (isParallel && idsInStep.has(id))
        violations.push({
          pointer: job.pointer,
          detail: `"${name}" is in this parallel step twice, but can have only one run at a time. Remove one of the two jobs.`,
        })
      idsInStep.add(id)
      return [{ uid: job.uid, runnableId: id }]
    })
  })
  if (violations.length > 0) throw jobsRefused(violations)
  return resolved

  /** Returns the reason why a job cannot run its object; undefined if it can. */
  function findViolation(
    { pointer, jobType, object: uid }: NamedJob,
    object: (typeof rows)[number] | undefined,
  ): FieldViolation | undefined {
    const noun = jobType ? getJobKind(jobType).noun : 'object'
    const objectPointer = `${pointer}/object/uid`
    if (uid === undefined) return { pointer: objectPointer, detail: `The job has no ${noun} to run. Set object.uid.` }
    const isInWorkflowOrVisible = object && (currentObjects.has(object.id) || visibleById.has(object.id))
    if (!isInWorkflowOrVisible)
      return { pointer: objectPointer, detail: `No ${noun} that you may run has the id ${uid}. Correct the id.` }
    const { kind, name } = object
    if (kind === 'WORKFLOW')
      return {
        pointer: objectPointer,
        detail: `"${name}" is a workflow, which a workflow cannot run. Remove this job.`,
      }
    if (jobType && jobKinds[kind].jobType !== jobType)
      return {
        pointer: `${pointer}/jobType`,
        detail: `"${name}" is a ${jobKinds[kind].noun}. Set jobType to ${jobKinds[kind].jobType}.`,
      }
    if (!currentObjects.has(object.id) && !visibleById.get(object.id)!.usable)
      return {
        pointer: objectPointer,
        detail: `You can view the ${noun} "${name}" but not run it, so your workflow cannot run it. Ask its owner or an administrator for access to edit it.`,
      }
    return undefined
  }
}

function jobsRefused(errors: FieldViolation[]): Problem {
  const [first] = errors
  const { status, code, title, message } = problems.refused(first!.pointer, first!.detail)
  const moreText = errors.length > 1 ? ` And ${errors.length - 1} more: see errors.` : ''
  return new Problem(status, code, title, { detail: `${message}${moreText}`, errors })
}
