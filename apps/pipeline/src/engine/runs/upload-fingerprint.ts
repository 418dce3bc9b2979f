import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/** What a load of an uploaded file depends on. */
export interface UploadState {
  /** Absent where no file was uploaded. */
  fingerprint?: string
  /** Whether the last load that ended well had the same fingerprint. */
  isLoaded: boolean
}

/**
 * Returns a digest of everything that determines the load of an uploaded file: the file, the settings, the transformation and, if these use variables, all
 * variables of the client, because a name can be written in several ways (`${ name }`, JSON escapes). Undefined for any other pipeline.
 */
export async function readUploadState(trx: Transaction<DB>, pipeline: number): Promise<UploadState | undefined> {
  const { rows } = await sql<{ fingerprint: string | null; loaded: string | null }>`
    select
      case when f.id is not null then md5(jsonb_build_array(
        f.sha256, p.type, p.settings, p.transformation, p.schema_changes, p.schema_id, p.table_name, p.quality_group_id,
        (select jsonb_agg(jsonb_build_array(v.id, v.version) order by v.id) from variables v
         where v.client = p.client and strpos(p.settings::text || p.transformation::text, '\${') > 0)
      )::text) end as fingerprint,
      (select r.input ->> 'fingerprint' from runs r
       where r.runnable_id = p.id and r.action = 'RUN' and r.state in ('OK', 'WARNING') order by r.finished_at desc limit 1) as loaded
    from data_pipelines p left join uploaded_files f on f.pipeline_id = p.id
    where p.id = ${pipeline} and p.type in ('CSV_UPLOAD', 'PARQUET_UPLOAD')`.execute(trx)
  const [row] = rows
  if (!row) return undefined
  const { fingerprint, loaded } = row
  return { isLoaded: fingerprint !== null && fingerprint === loaded, ...(fingerprint !== null && { fingerprint }) }
}
