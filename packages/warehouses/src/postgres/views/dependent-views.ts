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

/**
 * Selects every pair of a view (its OID is `view`) and a relation that it reads directly (`relation`). `column_number`
 * is the number of a column that the view reads. PostgreSQL records what a view reads as dependencies of the view's
 * rewrite rule.
 */
export const selectDirectReads = `
  select rule.ev_class as view, dependency.refobjid as relation, dependency.refobjsubid as column_number
  from pg_depend dependency join pg_rewrite rule on rule.oid = dependency.objid
  where dependency.classid = 'pg_rewrite'::regclass and dependency.refclassid = 'pg_class'::regclass
    and rule.ev_class <> dependency.refobjid`

/**
 * Selects the views that depend on the relation `$1`, or on its columns `$2`. `depth` is the longest path from the
 * relation, so that a view comes after all views that it reads.
 */
const selectDependentViews = `
  with recursive reader (oid, depth) as (
    select direct.view, 1 from (${selectDirectReads}) as direct
    where direct.relation = $1::oid and ($2::text[] is null or direct.column_number in (
      select attnum from pg_attribute where attrelid = $1::oid and attname = any($2::text[])))
    union
    select direct.view, reader.depth + 1 from reader
      join (${selectDirectReads}) as direct on direct.relation = reader.oid
  ), longest_path as (
    select oid, max(depth) as depth from reader group by oid
  ), dependent_view as (
    select relation.*, format('%I.%I', schema.nspname, relation.relname) as name, longest_path.depth
    from longest_path join pg_class as relation on relation.oid = longest_path.oid
    join pg_namespace as schema on schema.oid = relation.relnamespace
    where relation.relkind in ('v', 'm')
  )
  select name, relkind = 'm' as materialised, relispopulated as populated,
    pg_has_role(relowner, 'usage') as owned, pg_get_viewdef(oid) as definition, reloptions as options,
    obj_description(oid, 'pg_class') as comment,
    array(${selectColumnCommentsOf('dependent_view')}) as comments,
    array(
      select pg_get_indexdef(indexrelid) from pg_index where indrelid = dependent_view.oid order by indexrelid
    ) as indexes,
    array(${selectGrantsOf('dependent_view')}) as grants,
    array(${selectColumnGrantsOf('dependent_view')}) as column_grants,
    array(${selectDefaultGranteesOf('dependent_view')}) as granted_by_default
  from dependent_view order by depth, oid`

/**
 * Selects a COMMENT statement for each commented column of a view. `view` is the alias of the view's row in
 * `dependent_view`.
 */
function selectColumnCommentsOf(view: string): string {
  return `select format('comment on column %s.%I is %L', ${view}.name, attname, col_description(attrelid, attnum))
    from pg_attribute
    where attrelid = ${view}.oid and attnum > 0 and col_description(attrelid, attnum) is not null`
}

/** Selects a GRANT statement for each privilege on a view that its owner gave to another role. */
function selectGrantsOf(view: string): string {
  return `select format('grant %s on %s to %s%s', acl.privilege_type, ${view}.name, ${granteeOf('acl')}, ${grantOptionOf('acl')})
    from aclexplode(${view}.relacl) as acl where acl.grantee <> ${view}.relowner`
}

/** Selects a GRANT statement for each privilege on a single column of a view. */
function selectColumnGrantsOf(view: string): string {
  return `select format(
      'grant %s (%I) on %s to %s%s',
      acl.privilege_type, attname, ${view}.name, ${granteeOf('acl')}, ${grantOptionOf('acl')})
    from pg_attribute, aclexplode(attacl) as acl where attrelid = ${view}.oid and not attisdropped`
}

/** Selects the roles that get a privilege on each new view of the same owner and schema by default. */
function selectDefaultGranteesOf(view: string): string {
  return `select distinct ${granteeOf('acl')} from pg_default_acl, aclexplode(defaclacl) as acl
    where defaclrole = ${view}.relowner and defaclobjtype = 'r' and acl.grantee <> ${view}.relowner
      -- Namespace 0 stands for all schemas.
      and defaclnamespace in (0, ${view}.relnamespace)`
}

/** Returns the SQL expression for the quoted role that an entry of `aclexplode` names. `acl` is the entry's alias. */
function granteeOf(acl: string): string {
  return `case ${acl}.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(${acl}.grantee)) end`
}

/** Returns the SQL expression for the end of the GRANT statement: ` with grant option` or nothing. */
function grantOptionOf(acl: string): string {
  return `case when ${acl}.is_grantable then ' with grant option' else '' end`
}

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
