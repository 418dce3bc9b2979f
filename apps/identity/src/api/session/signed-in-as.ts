import { sql } from 'kysely'
import type { Role } from '@sluice/contracts'
import { prepared, rowOf } from '@sluice/database'
import { problems } from '@sluice/http'
import type { ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'
import type { UserGroupRow } from '../user-groups/row.ts'
import type { Surroundings } from '../users/present.ts'
import type { UserRow } from '../users/row.ts'

interface SignedInAs {
  row: UserRow
  /** What presenting the row needs. */
  around: Surroundings
  /** The client that is acted for. */
  client: ClientRow
  /** Null for an API token, which has no sign-in. */
  rolesAtIssue: Role[] | null
  /** Has no session of theirs ended yet? */
  intro: boolean
}

interface Found {
  user: unknown
  home: unknown
  client: unknown
  groups: unknown[]
  usernames: Record<string, string> | null
  roles_at_issue: Role[] | null
  intro: boolean
}

/**
 * Everything that is known of a sign-in, in one statement: pages ask for it with every view. By uid alone, because a super
 * admin who acts for another client does not belong to it. Only a session in person follows its own switch of the client.
 */
export async function signedInAs({ db, caller }: Asked): Promise<SignedInAs> {
  const { rows } = await sql<Found>`
    ${prepared('signed-in-as')}
    select row_to_json(u) as "user", row_to_json(home) as home, row_to_json(c) as client, s.roles_at_issue,
      array(
        select row_to_json(g) from user_group_members m join user_groups g on g.id = m.user_group_id
        where m.user_id = u.id order by g.id
      ) as groups,
      (select json_object_agg(a.uid, a.username) from users a where a.uid in (u.created_by, u.updated_by)) as usernames,
      not exists (
        select from sessions e where e.user_id = u.id and (e.ended_at is not null or e.expires_at < now())
      ) as intro
    from users u
    join clients home on home.uid = u.client
    left join sessions s on s.uid = ${caller.session || null}
    join clients c on c.uid = coalesce(case when ${caller.inPerson}::boolean then s.client end, ${caller.client})
    where u.uid = ${caller.uid}`.execute(db)
  const [found] = rows
  if (!found) throw problems.notFound('user')
  const row = rowOf<UserRow>(found.user)
  const home = rowOf<ClientRow>(found.home)
  const around = {
    clients: new Map([[home.uid, home]]),
    groups: new Map([[row.id, found.groups.map((group) => rowOf<UserGroupRow>(group))]]),
    usernames: new Map(Object.entries(found.usernames ?? {})),
  }
  return {
    row,
    around,
    client: rowOf<ClientRow>(found.client),
    rolesAtIssue: found.roles_at_issue,
    intro: found.intro,
  }
}
