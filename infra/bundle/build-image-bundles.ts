import { bundle } from './bundle.ts'

/**
 * `node infra/bundle/build-image-bundles.ts <checkout> <folder>`, with absolute paths: bundles the programs of both apps for an
 * image.
 */

const [root, folder] = process.argv.slice(2)
if (root === undefined || folder === undefined) throw new Error('give the checkout and the folder to build into')
await bundle(root, folder)
