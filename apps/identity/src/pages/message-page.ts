import { toSafeHref, html, type HtmlValue } from './html.ts'
import { renderFrame, type PageFacts } from './components/page-layout.ts'

interface MessageFacts extends PageFacts {
  title: string
  text: HtmlValue
  /** Small text below the message. */
  note?: HtmlValue
  status?: 'success' | 'problem'
  link?: { href: string; label: HtmlValue }
}

/** Returns a page with a message, a link to continue and a note. The symbol shows success or a problem. */
export function renderMessagePage({ title, text, note, status, link, ...pageFacts }: MessageFacts): string {
  return renderFrame({
    ...pageFacts,
    title,
    symbol: status && html`<div class="mark ${status}" aria-hidden="true">${status === 'success' ? '✓' : '!'}</div>`,
    main: html`<p class="lead">${text}</p>
${link && html`<p><a class="button" href="${toSafeHref(link.href)}">${link.label}</a></p>`}
${note && html`<p class="hint">${note}</p>`}`,
  })
}
