import { sql } from 'kysely'
import type { Step } from './step.ts'

/** Where else people of the application's organisation sign in, as links that come back to this interaction. */
export async function providersOf({
  db,
  application,
  interaction: { uid: interaction },
  csrf,
  prefix,
  request,
  response,
}: Step): Promise<{ href: string; label: string }[]> {
  const { rows } = await sql<{ code: string; domain: string }>`
    select c.code, p.client_domain as domain from sso_provider_configs p join clients c on c.uid = p.client
    where p.client = ${application.tenant} and p.client_id is not null`.execute(db)
  const query = new URLSearchParams({ interaction, mark: csrf.mark(request, response, interaction) })
  return rows.map(({ code, domain }) => ({
    href: `${prefix}/api/v1/auth/sso/${encodeURIComponent(code)}?${query.toString()}`,
    label: URL.canParse(domain) ? new URL(domain).host : domain,
  }))
}
