import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { Uid } from '../field-types.ts'

export const SsoStartQuery = defineContract(
  'SsoStartQuery',
  Type.Object(
    {
      interaction: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[A-Za-z0-9_-]+$',
          examples: ['m2Yp0fS7b3kQxH1dVt9uRw'],
          description:
            'The sign-in page of the OpenID Provider where the sign-in started. The browser returns to it afterwards.',
        }),
      ),
      mark: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: '^[A-Za-z0-9_-]+$',
          examples: ['m2Yp0fS7b3kQxH1dVt9uRw'],
          description:
            'The token from the link on the page that Sluice showed before the sign-in. It proves that the page was sent to this browser.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type SsoStartQuery = TypeOf<typeof SsoStartQuery>

/**
 * The query of the provider's callback. The service ignores additional parameters of providers (RFC 6749, section
 * 4.1.2).
 */
export const SsoCallbackQuery = defineContract(
  'SsoCallbackQuery',
  Type.Object(
    {
      /**
       * The uid of the SSO provider config. Every provider has its own callback URL, so that one provider cannot
       * respond for another.
       */
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
