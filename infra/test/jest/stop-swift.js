import { stopSwift } from '@sluice/testing/shared-openstack-swift'

/** After the last test file of the packages. */
export default stopSwift
