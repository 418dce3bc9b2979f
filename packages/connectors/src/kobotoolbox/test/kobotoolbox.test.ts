import { testConnector } from '../../../test/conformance.ts'
import { kobotoolbox } from './kobotoolbox-stand-in.ts'

testConnector(kobotoolbox)
