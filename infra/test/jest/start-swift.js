import { serveSwift } from '@sluice/testing/shared-openstack-swift'

/** Jest runs this before the first test file of the packages. The global setup of the pipeline does the same. */
export default serveSwift
