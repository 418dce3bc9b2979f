import { Provider } from 'oidc-provider'

/** Whose code or token it was that a request showed again. By the request: oidc-provider forgets it before it says so. */
const users = new WeakMap<object, string>()

export function noteUsed(user: string | undefined): void {
  const { ctx } = Provider
  if (ctx && user !== undefined) users.set(ctx, user)
}

export const userOfUsed = (ctx: object): string | undefined => users.get(ctx)
