import type { OperationSignature } from '@sluice/contracts'

/** Operations that a browser reaches by a redirect, which is always a GET request. */
const redirectTargets = new Set(['auth.finishSso'])

/** Returns a sentence for every broken rule in the operation signatures of one service. */
export function brokenOperationRules(signatures: readonly OperationSignature[]): string[] {
  return [
    ...repeated(signatures.map(({ id }) => id)).map((id) => `${id}: two operations have this id`),
    ...repeated(signatures.map(({ method, path }) => `${method} ${path}`)).map(
      (route) => `${route}: two operations have this route`,
    ),
    ...signatures.flatMap(brokenRules),
  ]
}

function brokenRules({
  id,
  method,
  path,
  effect,
  summary,
  guard,
  response,
  status,
  paged,
}: OperationSignature): string[] {
  const rules: [boolean, string][] = [
    [/^[a-z][a-zA-Z]*\.[a-z][a-zA-Z]*$/.test(id), 'the id is not noun.verb'],
    [/^(\/(:[a-z][a-zA-Z]*|[a-z0-9-]+))+$/.test(path), 'the path is not kebab-case'],
    [method !== 'get' || effect === 'read' || redirectTargets.has(id), 'a GET must not write'],
    [summary.length > 3 && /^[A-Z]/.test(summary) && !summary.endsWith('.'), 'the summary is not a short phrase'],
    [typeof guard === 'string' || guard.length > 0, 'an empty list of roles lets nobody in'],
    [(response === undefined) === [204, 302].includes(status), '204 or 302 and no response go together'],
    [!paged || (response as { type?: string }).type === 'array', 'a paged operation answers an array'],
  ]
  return rules.filter(([kept]) => !kept).map(([, rule]) => `${id}: ${rule}`)
}

const repeated = (names: string[]) => [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
