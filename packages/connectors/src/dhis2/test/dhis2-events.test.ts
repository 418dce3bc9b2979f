import { testConnector } from '../../../test/conformance.ts'
import { dhis2Events } from './dhis2-stand-in.ts'

testConnector(dhis2Events('2.42.1'))
