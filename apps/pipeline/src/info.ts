/** How the service introduces itself in its OpenAPI document. */
export const info = {
  title: 'Sluice pipeline service',
  version: '1.0.0',
  description: 'Loads data from files, databases and systems into a warehouse, and tells how that went.',
}
