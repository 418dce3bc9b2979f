import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as client from 'openid-client'
import type { Service } from '../app-under-test.ts'
import { relyingParty } from '../openid-provider/relying-party.ts'

/** A one-page test application on its own origin, with sign-in and sign-out for the users of one organisation. */
export async function startApplication(service: Service) {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const party = await relyingParty(service, { clientName: 'Station Planner', redirectUris: [`${origin}/callback`] })
  let pendingSignIn: Awaited<ReturnType<typeof party.begin>> | undefined
  let idToken = ''
  const signOut = (hint: Record<string, string>) =>
    client.buildEndSessionUrl(party.config, { post_logout_redirect_uri: `${origin}/goodbye`, ...hint }).href

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', origin)
    const redirectTo = (location: string) => void response.writeHead(302, { location }).end()
    switch (url.pathname) {
      case '/sign-in':
        pendingSignIn = await party.begin({ scope: 'openid profile email ROLE_SEE_VIEW' })
        return redirectTo(pendingSignIn.url.href)
      case '/callback': {
        if (url.searchParams.has('error')) return void response.end(`refused: ${url.searchParams.get('error')}`)
        const tokens = await pendingSignIn!.finish({ url, status: 200, html: '', headers: new Headers() })
        idToken = tokens.id_token ?? ''
        return void response.end(`hello ${JSON.stringify(tokens.claims()?.['preferred_username']).slice(1, -1)}`)
      }
      case '/sign-out':
        return redirectTo(signOut({ id_token_hint: idToken }))
      case '/sign-out-and-ask':
        return redirectTo(signOut({ client_id: party.body.ssoClientId }))
      default:
        return void response.end(`this is ${url.pathname}`)
    }
  }
  return { origin, party, stop: () => new Promise((resolve) => server.close(resolve)) }
}
