import type { ResumableUpload, UploadedFile } from '@sluice/contracts'
import { Problem, problems } from '@sluice/http-server'
import { type Kysely, type Selectable, type Transaction, sql } from 'kysely'
import type { DB, ResumableUploads } from '../../database.ts'
import { uploadExpiryHours } from '../../runs/files-in-use.ts'
import { QuotaReservation } from '../files-quota.ts'
import type { RequestContext } from '../operation-context.ts'

export type UploadRow = Selectable<ResumableUploads>

const expiryMs = uploadExpiryHours * 3_600_000

/** The maximum number of unfinished uploads of one organisation. Each takes a row and a file, even if it is empty. */
const maxUnfinished = 1_000

export const expiresAt = ({ touched_at }: Pick<UploadRow, 'touched_at'>): Date =>
  new Date(touched_at.getTime() + expiryMs)

/** Returns the uploads of all users to a pipeline, newest first. */
export async function listUploads(db: Kysely<DB>, pipeline: number): Promise<UploadRow[]> {
  return db
    .selectFrom('resumable_uploads')
    .selectAll()
    .where('pipeline_id', '=', pipeline)
    .orderBy('created_at', 'desc')
    .limit(1000)
    .execute()
}

/**
 * Returns an upload to this pipeline by this user, or by any user if `user` is undefined. Throws 404 if it does not
 * exist, and 410 if it has expired.
 */
export async function readUpload(
  db: Kysely<DB>,
  { uid, pipeline, user }: { uid: string; pipeline: number; user: string | undefined },
): Promise<UploadRow> {
  const isUid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(uid)
  const row = isUid
    ? await db
        .selectFrom('resumable_uploads')
        .selectAll()
        .where('uid', '=', uid)
        .where('pipeline_id', '=', pipeline)
        .$if(user !== undefined, (query) => query.where('created_by', '=', user!))
        .executeTakeFirst()
    : undefined
  if (!row) throw uploadMissing()
  if (expiresAt(row).getTime() < Date.now()) throw uploadExpired()
  return row
}

/** Converts an upload to a resource. A finished upload has the file that it became. */
export const presentUpload = (row: UploadRow, createdBy: string | undefined): ResumableUpload => ({
  id: row.uid,
  name: row.name,
  length: row.length,
  received: row.received,
  created: row.created_at.toISOString(),
  createdBy,
  expires: expiresAt(row).toISOString(),
  ...(row.result !== null && { file: row.result as unknown as UploadedFile }),
})

type NewUpload = Pick<UploadRow, 'uid' | 'pipeline_id' | 'name' | 'metadata' | 'length'>

/**
 * Inserts an upload and reserves quota for its bytes. Throws 422 if the organisation's files would exceed the quota, or
 * if it has too many unfinished uploads.
 */
export async function insertUpload(
  { db, caller, files, write }: RequestContext,
  upload: NewUpload,
  lockPipeline: (trx: Transaction<DB>) => Promise<unknown>,
): Promise<UploadRow> {
  // The reservation counts until the row is committed; from then on, the row counts. See `sumBytesInUse`.
  const quota = new QuotaReservation(db, { uid: upload.uid, client: caller.client, limit: files.clientLimit })
  try {
    await quota.reserve(upload.length)
    return await write(async (trx) => {
      await lockPipeline(trx)
      await assertFewUnfinished(trx, caller.client)
      return trx
        .insertInto('resumable_uploads')
        .values({ ...upload, client: caller.client, created_by: caller.uid })
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  } finally {
    await quota.release()
  }
}

async function assertFewUnfinished(trx: Transaction<DB>, client: string): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from resumable_uploads where client = ${client} and finished_at is null`.execute(trx)
  if (rows[0]!.count < maxUnfinished) return
  throw problems.refused(
    '/',
    `Your organisation has ${maxUnfinished} unfinished uploads. Finish or delete some of them; the others are removed ${uploadExpiryHours} hours after their last byte.`,
  )
}

/**
 * Stores the number of bytes that are durably on disk. Throws if the request has lost its lease or the upload was
 * deleted.
 */
export async function saveReceived(db: Kysely<DB>, uid: string, lease: string, received: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('resumable_uploads')
    .set({ received, touched_at: sql`now()` })
    .where('uid', '=', uid)
    .where('lease', '=', lease)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw leaseLost()
}

/**
 * Marks an upload as finished, in the transaction that replaces the pipeline's file. Throws if the request has lost its
 * lease.
 */
export async function markFinished(
  trx: Transaction<DB>,
  { uid, lease }: { uid: string; lease: string },
  result: UploadedFile,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('resumable_uploads')
    .set({ received: sql`length`, finished_at: sql`now()`, touched_at: sql`now()`, result: JSON.stringify(result) })
    .where('uid', '=', uid)
    .where('lease', '=', lease)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw leaseLost()
}

export const uploadMissing = () => problems.notFound('upload')

export const uploadExpired = () =>
  new Problem(410, 'upload-expired', 'The upload has expired.', {
    detail: `No byte arrived for ${uploadExpiryHours} hours, so the upload was removed. Start a new one; the pipeline keeps its current file.`,
  })

export const uploadBytesLost = () =>
  new Problem(410, 'upload-bytes-lost', 'Bytes of the upload are lost.', {
    detail:
      'The service no longer has all bytes that it received, so the upload was removed: start a new one. The pipeline keeps its current file.',
  })

export const uploadLocked = () =>
  new Problem(423, 'upload-locked', 'Another request is working on this upload.', {
    detail: 'Another request is still sending or checking this upload. Try again in a few seconds.',
    headers: { 'Retry-After': '5' },
  })

export const leaseLost = () =>
  new Problem(423, 'upload-locked', 'Another request is working on this upload.', {
    detail: 'Another request has taken over, or the upload was deleted. Read its state, and continue there.',
    headers: { 'Retry-After': '5' },
  })
