import { toSafeHref, html, isolateName } from './html.ts'
import { readPageTexts } from './choose-language.ts'
import { renderButton, renderForm } from './components/forms.ts'
import { renderFrame, type Organisation, type PageFacts } from './components/page-layout.ts'

interface SignedInFacts extends PageFacts {
  organisation: Organisation
  user: { name: string; username: string }
  /**
   * The refresh token. The page shows it for use on the command line, and the sign-out form sends it. It is in no URL,
   * and browsers do not cache the page.
   */
  refreshToken: string
  /** The URL at which programs exchange the refresh token for new tokens. */
  refreshUrl: string
  /** The setting `HOME_URL`; empty if it is not set. */
  home: string
  /** The URL to which the sign-out form is sent. */
  action: string
}

/**
 * Returns the page after a sign-in through a provider that no application started. It names the user, shows the refresh
 * token for the command line, and has a sign-out button.
 */
export function renderTokenPage({ user, refreshToken, refreshUrl, home, action, ...pageFacts }: SignedInFacts): string {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.signedIn
  const who = html`<strong>${isolateName(user.name)}</strong>`
  const organisation = html`<strong>${isolateName(pageFacts.organisation.name)}</strong>`
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    symbol: html`<div class="mark success" aria-hidden="true">✓</div>`,
    main: html`<p class="lead">${pageTexts.lead(who, isolateName(user.username), organisation)}</p>
${home && html`<p><a class="button" href="${toSafeHref(home)}">${texts.signOut.back(new URL(home).host)}</a></p>`}
<details>
<summary>${pageTexts.commandLine}</summary>
<p>${pageTexts.commands}</p>
<pre><code>read -rs REFRESH_TOKEN
printf '{"refreshToken":"%s"}' "$REFRESH_TOKEN" |
  curl -s ${refreshUrl} -H 'Content-Type: application/json' --data-binary @-</code></pre>
<p>${pageTexts.token}</p>
<pre><code>${refreshToken}</code></pre>
</details>
${renderForm({ action, hidden: { refreshToken }, main: renderButton(texts.signOut.submit, { quiet: true }) })}
<p class="hint">${pageTexts.stays}</p>`,
  })
}
