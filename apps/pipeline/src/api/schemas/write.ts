import type { SchemaBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Writing } from '@sluice/records'
import { dropWaiting, noteDrop } from '../../engine/drops/drops.ts'
import { identifierProblem, identifiers } from '../../identifiers.ts'
import { mostNamed, refuseWhileUsed } from '../in-use.ts'
import type { PipelineContext } from '../operation.ts'
import { seededAccess } from '../settings/default-access.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import type { SchemaRow } from './records.ts'

export const schemaWriting: Writing<PipelineContext, SchemaRow, SchemaBody> = {
  async check(body, input) {
    if (!['SQL_DATABASE_D', 'NA'].includes(body.providerSchema)) {
      throw problems.refused(
        '/providerSchema',
        `${body.providerSchema} is not set up here: use SQL_DATABASE_D, the PostgreSQL warehouse.`,
      )
    }
    await checkSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    const schemaName = body.schemaName ?? current?.schema_name ?? identifiers([body.name])[0]!
    const wrong = identifierProblem(schemaName)
    if (wrong) throw problems.refused('/schemaName', wrong)
    if (current && current.schema_name !== schemaName) {
      throw problems.refused(
        '/schemaName',
        `A schema keeps its name in the warehouse (${current.schema_name}): make another one, and point the pipelines there.`,
      )
    }
    return {
      ...(current ? {} : { client: caller.client, schema_name: schemaName }),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      description: body.description ?? null,
      tags: JSON.stringify(body.tags ?? []),
      permanent: body.permanent,
      provider_schema: body.providerSchema,
      ...(await seededAccess(trx, body.access, current, caller.client)),
    }
  },

  async beforeDelete(trx, row) {
    if (row.permanent)
      throw problems.refused('/permanent', 'A permanent schema is not removed: make it an ordinary one first.')
    const users = await trx
      .selectFrom('data_pipelines')
      .select('name')
      .where('schema_id', '=', row.id)
      .orderBy('name')
      .limit(mostNamed)
      .execute()
    const before = 'Delete them or move them first.'
    refuseWhileUsed(
      users.map(({ name }) => name),
      'Data pipelines load into this schema',
      before,
    )
    const views = await trx
      .selectFrom('views')
      .select('name')
      .where('schema_id', '=', row.id)
      .orderBy('name')
      .limit(mostNamed)
      .execute()
    refuseWhileUsed(
      views.map(({ name }) => name),
      'Views are in this schema',
      before,
    )
    await noteDrop(trx, { client: row.client, schema: row.schema_name })
  },

  /** At once if the warehouse lets it go; else a worker drops the schema later. */
  async afterDelete(row, { db, warehouses, logger }) {
    const failed = (error: unknown) =>
      logger.warn({ err: error, schema: row.uid }, 'the schema stays in the warehouse for now')
    await dropWaiting(db, warehouses, failed, row.client).catch(failed)
  },
}
