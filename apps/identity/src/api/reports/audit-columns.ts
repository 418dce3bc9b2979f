import { sql, type Selectable } from 'kysely'
import { identityOperations, type Signature } from '@sluice/contracts'
import type { Audit } from '../../database.ts'
import type { ReportColumn } from './tabular.ts'

export type AuditRow = Selectable<Audit> & {
  client_code: string | null
  object_name: string | null
  outcome: string
}

/** The object's name at that time: the object may be gone by now. Of a membership, the group's code and the username. */
export const objectName = sql<string | null>`coalesce(
  r.details #>> '{after,username}', r.details #>> '{before,username}', r.details #>> '{after,name}', r.details #>> '{before,name}',
  r.details #>> '{after,clientName}', r.details #>> '{before,clientName}',
  r.details #>> '{after,clientDomain}', r.details #>> '{before,clientDomain}',
  case when r.operation in ('userGroups.addMember', 'userGroups.removeMember')
    then concat(r.details ->> 'code', ': ', r.details ->> 'username') end)`

/** A write that was refused leaves no row, but a sign-in does: its outcome says why. */
export const outcome = sql<string>`coalesce(r.details ->> 'outcome', 'done')`

const summaries: ReadonlyMap<string, string> = new Map(
  Object.values(identityOperations)
    .flatMap((noun): Signature[] => Object.values(noun))
    .map(({ id, summary }) => [id, summary]),
)

/** Not the row's number: from the gaps a client would see how much the others do. */
export const auditColumns: ReportColumn<AuditRow>[] = [
  { name: 'When', column: 'at', valueType: 'TIMESTAMPTZ', cell: ({ at }) => at.toISOString() },
  { name: 'User id', column: 'user.id', valueType: 'VARCHAR_50', id: true, cell: ({ actor }) => actor },
  { name: 'Who', column: 'username', valueType: 'VARCHAR_255', cell: (row) => row.actor_name },
  { name: 'Client id', column: 'client.id', valueType: 'VARCHAR_50', id: true, cell: ({ client }) => client },
  { name: 'For client', column: 'client.code', valueType: 'VARCHAR_50', cell: (row) => row.client_code },
  { name: 'Operation', column: 'operation', valueType: 'VARCHAR_255', cell: ({ operation }) => operation },
  {
    name: 'What',
    column: 'summary',
    valueType: 'VARCHAR_255',
    cell: ({ operation }) => summaries.get(operation) ?? operation,
  },
  { name: 'Object id', column: 'object.id', valueType: 'VARCHAR_255', id: true, cell: ({ object }) => object },
  { name: 'Object', column: 'object.name', valueType: 'VARCHAR_255', cell: (row) => row.object_name },
  { name: 'Outcome', column: 'outcome', valueType: 'VARCHAR_255', cell: (row) => row.outcome },
  { name: 'From', column: 'address', valueType: 'VARCHAR_50', cell: ({ address }) => address },
  { name: 'Request', column: 'requestId', valueType: 'VARCHAR_255', cell: (row) => row.request_id },
  { name: 'Details', column: 'details', valueType: 'JSONB', cell: ({ details }) => details },
]
