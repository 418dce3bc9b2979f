import { serveSwift } from '@sluice/testing/shared-openstack-swift'

/** Before the first test file of the packages. The pipeline's own global setup does the same. */
export default serveSwift
