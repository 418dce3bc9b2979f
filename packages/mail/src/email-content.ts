/** The content of an email, before it is rendered as plain text and HTML. */
export interface EmailContent {
  subject: string
  paragraphs: string[]
  /** The link to the next step, such as setting a password. */
  link?: { label: string; url: string }
  /** A command for the recipient to paste into a shell. */
  command?: { label: string; line: string }
  /** Paragraphs in small text below the link. */
  notes: string[]
}

export interface RenderedEmail {
  text: string
  html: string
}

/** Renders an email as plain text and as self-contained HTML, without images, external styles and scripts. */
export function renderEmail({ paragraphs, link, command, notes }: EmailContent): RenderedEmail {
  const textParagraphs = [
    ...paragraphs,
    ...(link ? [link.url] : []),
    ...(command ? [`${command.label}\n${command.line}`] : []),
    ...notes,
  ]
  return {
    text: `${textParagraphs.join('\n\n')}\n`,
    html: renderEmailDocument([
      ...paragraphs.map((text) => `<p>${htmlText(text)}</p>`),
      ...(link ? [renderLinkButton(link), `<p style="${smallStyle}">${htmlText(link.url)}</p>`] : []),
      ...(command
        ? [`<p>${htmlText(command.label)}</p>`, `<pre style="${shellStyle}">${htmlText(command.line)}</pre>`]
        : []),
      ...notes.map((text) => `<p style="${smallStyle}">${htmlText(text)}</p>`),
    ]),
  }
}

const smallStyle = 'font-size:14px;color:#4a5560;overflow-wrap:anywhere'
const shellStyle = 'font:14px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere'
const bodyStyle =
  'margin:0;padding:24px;background:#ffffff;color:#17212b;font:16px/1.5 system-ui,sans-serif;max-width:560px'
const linkStyle =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#0b5c76;color:#ffffff;text-decoration:none'

const renderLinkButton = ({ label, url }: { label: string; url: string }) =>
  `<p><a href="${htmlText(url)}" style="${linkStyle}">${htmlText(label)}</a></p>`

const renderEmailDocument = (parts: string[]) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sluice</title></head><body style="${bodyStyle}">${parts.join('')}</body></html>`

const htmlEntities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes a text for HTML content and attributes. Replaces control characters and lone surrogates. */
export const htmlText = (text: string): string =>
  text
    .toWellFormed()
    // oxlint-disable-next-line no-control-regex
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => htmlEntities[character] ?? '')
