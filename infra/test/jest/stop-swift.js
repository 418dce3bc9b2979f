import { stopSwift } from '@sluice/testing/shared-openstack-swift'

/** Jest runs this after the last test file of the packages. */
export default stopSwift
