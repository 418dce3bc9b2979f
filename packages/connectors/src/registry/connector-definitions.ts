import type { ConnectorDefinition, KnownType } from '../settings/connector-definition.ts'
import { connectorModules } from './connector-modules.ts'

/** A connector definition of any pipeline type. */
export type AnyDefinition = ConnectorDefinition<KnownType, any>

/** Loads all definitions when the API starts, so that a request never waits for an import. */
const definitionsByType = new Map<string, AnyDefinition>(
  await Promise.all(
    Object.entries(connectorModules).map(
      async ([type, { define }]) => [type, (await define()) as unknown as AnyDefinition] as const,
    ),
  ),
)

/** Returns the definition of a type, or undefined for a type that only a later version of Sluice has. */
export const findDefinition = (type: string): AnyDefinition | undefined => definitionsByType.get(type)

/** Returns the definition of a type. Throws for a type that only a later version of Sluice has. */
export function getDefinition(type: string): AnyDefinition {
  const definition = definitionsByType.get(type)
  if (!definition)
    throw new Error(`This version of Sluice does not support data pipelines of type ${type}. Update Sluice.`)
  return definition
}
