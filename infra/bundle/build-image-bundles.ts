import { bundle } from './bundle.ts'

/**
 * `node infra/bundle/build-image-bundles.ts <checkout> <folder>` bundles both apps for an image. Both paths are
 * absolute.
 */

const [root, folder] = process.argv.slice(2)
if (root === undefined || folder === undefined)
  throw new Error('Usage: node infra/bundle/build-image-bundles.ts <checkout> <output folder>')
await bundle(root, folder)
