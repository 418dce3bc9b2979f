import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Uid } from '../named.ts'

export const SsoStartQuery = contract(
  'SsoStartQuery',
  Type.Object(
    {
      interaction: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[A-Za-z0-9_-]+$',
          examples: ['m2Yp0fS7b3kQxH1dVt9uRw'],
          description: 'The page of the OpenID Provider that the sign-in began on, and goes back to.',
        }),
      ),
      mark: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[A-Za-z0-9_-]+$',
          examples: ['m2Yp0fS7b3kQxH1dVt9uRw'],
          description: 'From the link on that page: shows that it was given to this browser.',
        }),
      ),
    },
    closed,
  ),
)
export type SsoStartQuery = TypeOf<typeof SsoStartQuery>

/** Additional parameters of providers are ignored (RFC 6749, 4.1.2). */
export const SsoCallbackQuery = contract(
  'SsoCallbackQuery',
  Type.Object(
    {
      /** The SSO provider config: each one has a separate callback URL, so that a provider cannot respond for another one. */
      provider: Uid,
      state: Type.String({ minLength: 1, maxLength: 2000 }),
      code: Type.Optional(Type.String({ maxLength: 4000 })),
      iss: Type.Optional(Type.String({ maxLength: 2000 })),
      error: Type.Optional(Type.String({ maxLength: 200 })),
      error_description: Type.Optional(Type.String({ maxLength: 4000 })),
    },
    { maxProperties: 30 },
  ),
)
export type SsoCallbackQuery = TypeOf<typeof SsoCallbackQuery>
