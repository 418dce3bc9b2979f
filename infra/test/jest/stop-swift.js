import { stopSwift } from '@sluice/testing/shared-swift'

/** After the last test file of the packages. */
export default stopSwift
