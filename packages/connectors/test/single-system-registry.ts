import type { SystemsByType } from '../src/registry/connector-registry.ts'

/** A system that no type of pipeline has, from the module that exports it alone. */
export const systemIn = (type: string, module: string): SystemsByType => ({
  [type]: async () => Object.values(await import(module))[0] as Awaited<ReturnType<NonNullable<SystemsByType[string]>>>,
})
