import { type Selectable, sql } from 'kysely'
import {
  type Destination,
  type ReferencedView,
  destinationTypes,
  hasRole,
  pipelineOperations,
  runTriggers,
  targetSecrets,
} from '@sluice/contracts'
import {
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  presentAccess,
  createRecordRepository,
  visibleTo,
} from '@sluice/records'
import type { KeyRing } from '@sluice/database'
import type { RequestContext } from '../operation-context.ts'
import { lookUpAuthors, lastRunProperties, presentUntaggedFields, recordedProperties } from '../record-fields.ts'
import type { Destinations } from '../../database.ts'
import { type ImportOptions, type TargetSettings, unsealTargetSecrets } from '../../destinations/push-target.ts'
import { type SecretTimes, presentSecretStatus } from '../../secrets/secret-status.ts'
import { readRunStatuses } from '../runs/run-responses.ts'
import { presentScheduleFields, formatTrigger, readClientTimeZone } from '../schedule-fields.ts'
import { type ViewRow, viewRecords } from '../views/records.ts'

export type DestinationRow = RefinedRow<
  Selectable<Destinations>,
  SharedColumns & { settings: TargetSettings; import_options: ImportOptions; secret_times: SecretTimes | null }
>

async function presentDestinations(
  rows: DestinationRow[],
  context: RequestContext,
): Promise<WithoutMay<Destination>[]> {
  const { db, identity, request, keyRing } = context
  const [findAuthors, views, findStatus, zone] = await Promise.all([
    lookUpAuthors(rows, identity),
    readViews(rows, context),
    readRunStatuses(db, rows),
    readClientTimeZone(context),
  ])

  return rows.map((row) => ({
    ...presentUntaggedFields(row, request.locales),
    ...findAuthors(row),
    ...presentScheduleFields(row),
    triggerExpression: formatTrigger(row, zone),
    scheduleable: true,
    type: row.type as Destination['type'],
    viewSource: views.get(row.view_id)!,
    importOptions: row.import_options,
    ...presentTargetFields(row, keyRing),
    status: findStatus(row.id).status,
    access: presentAccess(row),
  }))
}

/** Returns the target system of a destination, with the status of its secret. */
function presentTargetFields(row: DestinationRow, keyRing: KeyRing): Pick<Destination, 'apiTarget' | 'apiTokenTarget'> {
  const { settings, secret_times } = row
  const presentStatus = <Name extends string>(names: readonly Name[]) =>
    presentSecretStatus(names, secret_times, () => unsealTargetSecrets(row, keyRing))
  return 'apiTarget' in settings
    ? { apiTarget: { ...settings.apiTarget, secretStatus: presentStatus(targetSecrets.apiTarget) } }
    : { apiTokenTarget: { ...settings.apiTokenTarget, secretStatus: presentStatus(targetSecrets.apiTokenTarget) } }
}

/** Returns the views that these destinations push. For views that the caller may not see, only the names. */
async function readViews(
  rows: readonly DestinationRow[],
  context: RequestContext,
): Promise<Map<number, ReferencedView>> {
  const { db, caller } = context
  const viewRows = await db
    .selectFrom('views as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('isReadable'))
    // No view has the key 0. It is there because SQL does not allow an empty list.
    .where('id', 'in', [0, ...rows.map((row) => row.view_id)])
    .$castTo<ViewRow & { isReadable: boolean }>()
    .execute()
  const maySee = hasRole(caller.roles, 'ROLE_SEE_VIEW')
  const visibleViews = viewRows.filter(({ isReadable }) => maySee && isReadable)
  const presented = await viewRecords.present(visibleViews, context)
  return new Map([
    ...viewRows.map(({ id, uid, name }): [number, ReferencedView] => [id, { id: uid, name }]),
    ...visibleViews.map(({ id }, index): [number, ReferencedView] => [id, presented[index]!]),
  ])
}

export const destinationRecords = createRecordRepository<DestinationRow, Destination, RequestContext>({
  noun: 'destination',
  table: 'destinations',
  path: '/destinations',
  properties: {
    ...recordedProperties,
    ...lastRunProperties,
    description: { type: 'string', column: 'r.description' },
    type: { type: 'enum', column: 'r.type', values: destinationTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.destinations,
  present: presentDestinations,
})
