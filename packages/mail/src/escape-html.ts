const htmlEntities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes a text for HTML content and attributes. Control characters and lone surrogates are replaced. */
export const htmlText = (text: string): string =>
  text
    .toWellFormed()
    // oxlint-disable-next-line no-control-regex
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => htmlEntities[character] ?? '')
