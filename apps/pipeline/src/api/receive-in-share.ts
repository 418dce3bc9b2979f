import type { Readable } from 'node:stream'
import { Problem, problems } from '@sluice/http'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { removeUnneededFiles } from '../engine/runs/remove-unneeded-files.ts'
import { receiveFile, type ReceivedFile } from '../files/receive-file.ts'
import type { Asked } from './operation.ts'
import { shares } from './shares.ts'

/** A received file that no row names yet. */
export interface Upload extends Omit<ReceivedFile, 'discard'> {
  /** Removes the file after the request failed with `error`, unless a row names it. */
  discard(error: unknown): Promise<void>
}

/**
 * Writes an upload to disk in the share of its organisation; `stream` is its file where the body is a form. A body that waits for its slot
 * is not read. Throws problems, 422 where the files of the organisation have reached their limit.
 */
export async function receiveInShare(
  { db, caller, request, files }: Pick<Asked, 'db' | 'caller' | 'request' | 'files'>,
  uid: string,
  stream: Readable = request.stream,
): Promise<Upload> {
  const { socket } = request.stream
  const left = new AbortController()
  const leave = () => left.abort(problems.unreadableBody('The caller has gone.'))
  socket.once('close', leave)
  if (socket.destroyed) leave()
  const receive = async () => {
    const room = files.clientLimit - (await storedBytes(db, caller.client))
    if (room <= 0 || Number(request.stream.headers['content-length'] ?? 0) > room) throw quotaReached(files.clientLimit)
    return receiveFile(stream, { ...files, uploadLimit: Math.min(files.uploadLimit, room) }, uid)
  }
  try {
    const { size, sha256 } = await shares.uploads.run(caller.client, receive, { signal: left.signal })
    return {
      size,
      sha256,
      async discard(error) {
        // Any other error may have broken the connection during the COMMIT: maintenance removes the file later if there is no row.
        if (error instanceof Problem) await removeUnneededFiles({ db, directory: files.directory }, [uid])
      },
    }
  } finally {
    socket.off('close', leave)
  }
}

/** Bytes of the files that the client's pipelines have. */
async function storedBytes(db: Kysely<DB>, client: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(f.size), 0)::float8 as bytes from uploaded_files f join data_pipelines p on p.id = f.pipeline_id
    where p.client = ${client}`.execute(db)
  return rows[0]!.bytes
}

const quotaReached = (limit: number) =>
  new Problem(422, 'files-limit-reached', 'The files of your organisation have reached their limit.', {
    detail: `All uploaded files of your organisation together may have ${limit} bytes. Delete pipelines with uploads that nobody needs, or ask the operator for more (CLIENT_FILES_LIMIT).`,
  })
