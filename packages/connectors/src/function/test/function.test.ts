import { testConnector } from '../../../test/conformance.ts'
import { addressedFunction } from './function-stand-in.ts'

testConnector(addressedFunction)
