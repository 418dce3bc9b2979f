import { escapeIdentifier, escapeLiteral, type ClientBase } from 'pg'

/** A view that reads a table, and the data to recreate the view unchanged. */
export interface DependentView {
  /** The quoted name with the schema. */
  name: string
  /** True if role `load` owns the view. Other views are never changed. */
  owned: boolean
  materialised: boolean
  /** The DROP statement. */
  drop: string
  /** The statements that create the view again, with its indexes, grants and comments. */
  create: string[]
}

/**
 * Returns the views that read these columns of a relation, and the views that read those views. Without `columns`,
 * returns the views that read any column. A view comes after all views that it reads. Requires an empty search path, so
 * that names include schemas.
 */
export async function listDependentViews(
  client: ClientBase,
  relation: number,
  columns?: readonly string[],
): Promise<DependentView[]> {
  const { rows } = await client.query<DependentViewRow>(selectDependentViews, [relation, columns ?? null])
  return rows.map(describeDependentView)
}

const readsFrom = `from pg_depend d join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
  and d.refclassid = 'pg_class'::regclass and r.ev_class <> d.refobjid`

const granteeExpression = `case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end`
const grantOptionExpression = `case when g.is_grantable then ' with grant option' else '' end`
const relationNameExpression = `format('%I.%I', n.nspname, c.relname)`

/**
 * Selects the views that depend on the relation `$1`, or on its columns `$2`. `depth` is the longest path from the
 * relation, so that a view comes after all views that it reads.
 */
const selectDependentViews = `
  with recursive over (oid, depth) as (
    select r.ev_class, 1 ${readsFrom} and d.refobjid = $1::oid
    where $2::text[] is null or d.refobjsubid in (
      select attnum from pg_attribute where attrelid = $1::oid and attname = any($2::text[]))
    union
    select r.ev_class, over.depth + 1 from over, lateral (select r.ev_class ${readsFrom} and d.refobjid = over.oid) r
  ), views as (select oid, max(depth) as depth from over group by oid)
  select ${relationNameExpression} as name, c.relkind = 'm' as materialised, c.relispopulated as populated,
    pg_has_role(c.relowner, 'usage') as owned, pg_get_viewdef(c.oid) as definition, c.reloptions as options,
    obj_description(c.oid, 'pg_class') as comment,
    array(select format('comment on column %s.%I is %L', ${relationNameExpression}, a.attname, col_description(c.oid, a.attnum))
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and col_description(c.oid, a.attnum) is not null) as comments,
    array(select pg_get_indexdef(i.indexrelid) from pg_index i where i.indrelid = c.oid order by i.indexrelid) as indexes,
    array(select format('grant %s on %s to %s%s', g.privilege_type, ${relationNameExpression}, ${granteeExpression}, ${grantOptionExpression})
      from aclexplode(c.relacl) g where g.grantee <> c.relowner) as grants,
    array(select format('grant %s (%I) on %s to %s%s', g.privilege_type, a.attname, ${relationNameExpression}, ${granteeExpression}, ${grantOptionExpression})
      from pg_attribute a, aclexplode(a.attacl) g where a.attrelid = c.oid and not a.attisdropped) as column_grants,
    array(select distinct ${granteeExpression} from pg_default_acl p, aclexplode(p.defaclacl) g
      where p.defaclrole = c.relowner and p.defaclobjtype = 'r' and p.defaclnamespace in (0, c.relnamespace)
        and g.grantee <> c.relowner) as granted_by_default
  from views v join pg_class c on c.oid = v.oid join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('v', 'm') order by v.depth, c.oid`

/** Builds the statements that drop and create a view from its row of `selectDependentViews`. */
function describeDependentView(row: DependentViewRow): DependentView {
  const { name, materialised, owned, comment } = row
  const kind = materialised ? 'materialized view' : 'view'
  const options = row.options?.length ? ` with (${row.options.map(formatViewOption).join(', ')})` : ''
  const query = row.definition.replace(/;\s*$/, '')
  const noData = materialised && !row.populated ? ' with no data' : ''
  return {
    name,
    owned,
    materialised,
    drop: `drop ${kind} ${name}`,
    create: [
      `create ${kind} ${name}${options} as ${query}${noData}`,
      ...row.indexes,
      // The schema's default privileges may give the recreated view rights that the old view did not have.
      ...row.granted_by_default.map((role) => `revoke all on ${name} from ${role}`),
      ...row.grants,
      ...row.column_grants,
      ...(comment === null ? [] : [`comment on ${kind} ${name} is ${escapeLiteral(comment)}`]),
      ...row.comments,
    ],
  }
}

interface DependentViewRow {
  name: string
  materialised: boolean
  populated: boolean
  owned: boolean
  definition: string
  options: string[] | null
  comment: string | null
  comments: string[]
  indexes: string[]
  grants: string[]
  column_grants: string[]
  granted_by_default: string[]
}

/** Converts a view option from the form in pg_class, `security_barrier=true`, to SQL: `"security_barrier" = 'true'`. */
function formatViewOption(option: string): string {
  const [key, value] = option.split(/=(.*)/s)
  return `${escapeIdentifier(key!)} = ${escapeLiteral(value ?? '')}`
}
