import { brokenConstraint, isUnavailable, SealProblem } from '@sluice/database'
import { problems, type Problem } from '@sluice/http-server'

/** Maps each unique or foreign key to the field and the message for its violation. */
const conflictByConstraint: Record<string, [pointer: string, detail: string]> = {
  clients_code_key: ['/code', 'Another organisation has this code. Choose another one.'],
  clients_name_key: ['/name', 'Another organisation has this name. Choose another one.'],
  users_username_key: ['/username', 'This username is taken, or too similar to one that is taken. Choose another one.'],
  users_client_sso_id_key: ['/ssoId', 'Another user of this organisation has this single sign-on id. Check the id.'],
  users_client_fkey: [
    '/client/id',
    'The organisation still has users, or was deleted. Delete its users first, or choose another organisation.',
  ],
  user_groups_client_code_key: ['/code', 'Another user group of this organisation has this code. Choose another one.'],
  sso_client_configs_sso_client_id_key: ['/ssoClientId', 'Another application has this id. Choose another one.'],
  sso_client_configs_skeleton_key: [
    '/ssoClientId',
    'Another application has this id, or one that is too similar. Choose another one.',
  ],
  sso_client_configs_client_fkey: ['/client/id', 'The organisation was deleted. Choose another one.'],
  sso_provider_configs_client_key: [
    '/client/id',
    'This organisation already has an SSO provider config. Change that one.',
  ],
  user_group_members_user_group_fkey: ['/userGroups', 'A user group was deleted. Remove it from the request.'],
}

/** PostgreSQL's error codes for NUL in text (22021) and in JSON (22P05). */
const unstorableTextCodes = ['22021', '22P05']

/** Converts known database errors to problems. Returns undefined for other errors, which are bugs. */
export function translateDatabaseError(error: unknown): Problem | undefined {
  const violation = brokenConstraint(error)
  const conflict = violation && conflictByConstraint[violation.constraint]
  if (conflict) return problems.conflict(...conflict)
  if (unstorableTextCodes.includes((error as { code?: string } | null)?.code ?? ''))
    return problems.unreadableBody('The value contains a NUL character. Remove it.')
  if (isUnavailable(error)) return problems.unavailable('database', error)
  if (error instanceof SealProblem) return problems.unavailable('signing key', error)
  return undefined
}
